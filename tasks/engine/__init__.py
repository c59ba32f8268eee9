"""Access to Prefect's server and its flow runs."""
