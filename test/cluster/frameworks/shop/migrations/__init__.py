"""The tables of a single server, their distribution, and later changes of them."""
