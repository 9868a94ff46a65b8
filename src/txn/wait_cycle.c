/*-------------------------------------------------------------------------
 *
 * wait_cycle.c
 *	  Cycles in a wait graph.
 *
 * The search is depth first, from each process in order, along edges in order:
 * two nodes that look at the same graph find the same cycles.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "txn/wait_cycle.h"

/*
 * A search under way.  Processes that are on no cycle are done, and not
 * entered again.
 */
typedef struct Search
{
	const WaitGraph *graph;
	int64		min_age_ms;
	const bool *removed;
	int		   *first_edge;		/* of each process; one more at the end */
	char	   *visited;		/* 0 not yet, 1 on the path, 2 done */
	int		   *path;			/* edges to where the search is */
	int			length;
} Search;

/* For each process, where its edges begin. */
static int *
index_edges(const WaitGraph *graph)
{
	int		   *first = palloc(sizeof(int) * (graph->nprocs + 1));
	int			edge = 0;

	for (int proc = 0; proc <= graph->nprocs; proc++)
	{
		while (edge < graph->nedges && graph->edges[edge].from < proc)
			edge++;
		first[proc] = edge;
	}
	return first;
}

/*
 * Continues the search from a process; returns whether the path then ends in a
 * cycle, whose last process is the end of its last edge.
 */
static bool
search_from(Search *search, int proc)
{
	check_stack_depth();
	search->visited[proc] = 1;
	for (int i = search->first_edge[proc]; i < search->first_edge[proc + 1]; i++)
	{
		const WaitEdge *edge = &search->graph->edges[i];

		if (search->removed[edge->to] || (!edge->remote && edge->age_ms < search->min_age_ms))
			continue;
		if (search->visited[edge->to] == 2)
			continue;
		search->path[search->length++] = i;
		if (search->visited[edge->to] == 1 || search_from(search, edge->to))
			return true;
		search->length--;
	}
	search->visited[proc] = 2;
	return false;
}

int *
wait_cycle_find(const WaitGraph *graph, int64 min_age_ms, const bool *removed, int *length)
{
	Search		search = {graph, min_age_ms, removed};
	int			start = 0;

	search.first_edge = index_edges(graph);
	search.visited = palloc0(Max(graph->nprocs, 1));
	search.path = palloc(sizeof(int) * (graph->nprocs + 1));
	*length = 0;
	for (int proc = 0; proc < graph->nprocs; proc++)
	{
		if (removed[proc] || search.visited[proc] != 0 || !search_from(&search, proc))
			continue;

		/* the way to the cycle is not part of it */
		while (graph->edges[search.path[start]].from != graph->edges[search.path[search.length - 1]].to)
			start++;
		*length = search.length - start;
		return search.path + start;
	}
	return NULL;
}
