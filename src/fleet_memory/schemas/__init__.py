"""What agents send and receive, and what stores keep: frozen, camelCase outside, snake_case inside."""
