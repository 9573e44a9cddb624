"""Run the Python code of cures: driver.py CONNECTION JOBS.json; prints what became of each step.

A job is {"file", "table", "c": what driver.c must know, "steps": [[function, argument...]]}.  Steps call the functions of the code
as it stands in the file; entities are written as the service writes them.
"""

import datetime
import json
import runpy
import sys
import uuid

from azure.core.exceptions import HttpResponseError
from azure.data.tables import EdmType, EntityProperty, TableServiceClient, TableTransactionError
from azure.storage.blob import ContainerClient


def value_of(value, edm):
    if edm == "Edm.Int64":
        return EntityProperty(int(value), EdmType.INT64)
    if edm == "Edm.DateTime":
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    if edm == "Edm.Guid":
        return uuid.UUID(value)
    return value


def argument(one):
    if isinstance(one, dict) and "time" in one:
        return value_of(one["time"], "Edm.DateTime")
    if isinstance(one, list):
        return [argument(each) for each in one]
    if not isinstance(one, dict):
        return one
    return {name: value_of(value, one.get(f"{name}@odata.type")) for name, value in one.items()
            if "@" not in name}


def names(found):
    """The RowKeys of the entities whose copies were found, or a sum."""
    if isinstance(found, int):
        return str(found)
    found = [found] if isinstance(found, dict) else list(found)
    return [each.get("TavolaPrimary", each.get("RowKey", "")) for each in found]


def with_properties(found):
    return [f"{each['RowKey']}:{','.join(sorted(set(each) - {'PartitionKey', 'RowKey'}))}"
            for each in ([found] if isinstance(found, dict) else found)]


def run(function, of, arguments, is_select):
    try:
        result = function(*of, *arguments)
        if isinstance(result, bytes):
            result = result.decode()
        if result is None:
            return "ok"
        if isinstance(result, str):
            return result
        return with_properties(result) if is_select else names(result)
    except TableTransactionError as error:
        return {"EntityAlreadyExists": "409", "ResourceNotFound": "404"}.get(error.error_code,
                                                                            str(error))
    except HttpResponseError as error:
        return str(error.status_code)
    except ValueError:
        return "invalid"


def main():
    service = TableServiceClient.from_connection_string(sys.argv[1])
    results = []
    for job in json.load(open(sys.argv[2])):
        code = runpy.run_path(job["file"])
        code["behind"] = lambda table, partition, row: table.delete_entity(partition, row)
        table = service.create_table_if_not_exists(job["table"])
        of = [service] if job["c"] == "period" else [table]
        if job["c"] in ("log_blob", "large"):
            container = ContainerClient.from_connection_string(sys.argv[1], job["table"].lower())
            container.create_container()
            code["blobs"] = lambda *of: len(list(of[-1].list_blobs()))
            of = [table, container] if job["c"] == "large" else [container]
        results.append([run(code[step[0]], of, map(argument, step[1:]), "select" in job["c"])
                        for step in job["steps"]])
    print(json.dumps(results))


main()
