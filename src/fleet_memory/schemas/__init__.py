"""Messages of agents and records of stores: frozen, camelCase outside, snake_case inside."""
