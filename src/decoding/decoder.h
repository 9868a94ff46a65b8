/*-------------------------------------------------------------------------
 *
 * decoder.h
 *	  Logical decoding of shards under the names of their tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DECODING_DECODER_H
#define CITUS_DECODING_DECODER_H

/*
 * Defines citus.enable_change_data_capture.  If it is on, makes the server
 * look for output plugins here first.
 */
extern void decoder_init(void);

#endif							/* CITUS_DECODING_DECODER_H */
