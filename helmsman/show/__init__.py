"""What people see of records: charts, a page, a dashboard. Pure: records in, text out."""
