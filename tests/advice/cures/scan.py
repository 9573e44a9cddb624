"""Scan a table by a property: scan.py CONNECTION TABLE."""

import sys

from azure.data.tables import TableServiceClient

table = TableServiceClient.from_connection_string(sys.argv[1]).get_table_client(sys.argv[2])
for n in range(5):
    list(table.query_entities(f"Email eq 'u{n}@x'"))
