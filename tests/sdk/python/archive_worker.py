"""A worker of the eventually consistent transactions pattern, for patterns_test.py:

    archive_worker.py CURRENT ARCHIVE QUEUE VISIBILITY-TIMEOUT CRASH-AFTER

Moves the employee of one message from table CURRENT to table ARCHIVE.  After the step
that CRASH-AFTER names (get, insert, delete, all) it prints the step, the message and how
often it was read, and waits to be killed.
"""

import json
import sys
import time

from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import UpdateMode

from helpers import connect
from storage import queue_service


def work(current, archive, queue, visibility_timeout, crash_after):
    message = queue.receive_message(visibility_timeout=visibility_timeout)

    def reached(step):
        if step == crash_after:
            print(step, message.id, message.dequeue_count, flush=True)
            time.sleep(600)

    # Both steps may be done twice: insert or replace, delete if it is there.
    employee = json.loads(message.content)
    reached("get")
    try:
        archive.upsert_entity(current.get_entity(**employee), mode=UpdateMode.REPLACE)
    except ResourceNotFoundError:
        pass
    reached("insert")
    current.delete_entity(**employee)
    reached("delete")
    queue.delete_message(message)
    reached("all")


def main(current, archive, queue, visibility_timeout, crash_after):
    tables = connect()
    work(tables.get_table_client(current), tables.get_table_client(archive),
         queue_service().get_queue_client(queue), int(visibility_timeout), crash_after)


if __name__ == "__main__":
    main(*sys.argv[1:])
