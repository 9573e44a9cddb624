"""A worker of the eventually consistent transactions pattern, for patterns_test.py.

Moves the employee of one message from a table to an archive.  After the step that `crash_after`
names (get, insert, delete, all) it says the step, the message and how often it was read, and
waits to be killed.
"""

import json
import signal

from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import UpdateMode

from helpers import connect
from storage import queue_service


def work(say, current, archive, queue, visibility_timeout, crash_after):
    message = queue.receive_message(visibility_timeout=visibility_timeout)

    def reached(step):
        if step == crash_after:
            say(f"{step} {message.id} {message.dequeue_count}")
            signal.pause()

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


def main(say, current, archive, queue, visibility_timeout, crash_after):
    """In a process of its own, with the names of two tables and a queue."""
    tables = connect()
    work(say, tables.get_table_client(current), tables.get_table_client(archive),
         queue_service().get_queue_client(queue), visibility_timeout, crash_after)
