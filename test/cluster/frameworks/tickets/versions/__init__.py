"""The migrations, which distribute tables as they make them."""
