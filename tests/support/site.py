"""What tests say about a site: who registers, what a command prints, what the keys hold."""
