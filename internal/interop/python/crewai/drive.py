"""Talks with a server through the delegation of CrewAI, which speaks A2A 0.3, as a program
built with it does: an agent with a model delegates to the server, and its model answers
what the server asks. The model is a stub that says what a person says.

    python drive.py URL [KEY]

KEY is an API key. Each line of the input is a turn of the person, and is answered by a
line that lists what the framework shows:

    {"start": "stream"}   a new conversation, that follows the events of each answer
    {"start": "poll"}     or asks for the task until there is an answer
    {"say": ["text"]}     a message: a task for the crew, or the answer to a question
"""

import json
import logging
import os
import queue
import sys
import threading

say, sys.stdout = sys.stdout, sys.stderr  # it writes to the output
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "CREWAI_TESTING": "true"}

from crewai import Agent, BaseLLM, Crew, Task
from crewai.a2a import A2AClientConfig
from crewai.a2a.auth import APIKeyAuth
from crewai.a2a.updates import PollingConfig, StreamingConfig
from crewai.events import crewai_event_bus
from crewai.events.types.a2a_events import (
    A2AArtifactReceivedEvent,
    A2AConnectionErrorEvent,
    A2ADelegationCompletedEvent,
    A2AStreamingChunkEvent,
)

url, *key = sys.argv[1:]
logging.disable(logging.CRITICAL)


class Person(BaseLLM):
    """A model that delegates everything, in the words of a person."""

    conversation: object = None

    def call(self, messages, *args, **kwargs):
        text = self.conversation.asks()
        return json.dumps({"a2a_ids": [self.conversation.remote.endpoint], "message": text or "Never mind.", "is_a2a": bool(text)})


class Conversation:
    def __init__(self, how):
        self.remote = A2AClientConfig(
            endpoint=url,
            auth=APIKeyAuth(api_key=key[0], name="X-API-Key") if key else None,
            updates=StreamingConfig() if how == "stream" else PollingConfig(interval=0.05),
            accepted_output_modes=["text/plain", "application/json"],
            trust_remote_completion_status=True,
        )
        self.said, self.shown, self.seen, self.running = queue.Queue(), queue.Queue(), [], None

    def asks(self):
        """Waits for what the person says to what was shown."""
        if not self.first:
            self.shown.put(self.take())
        self.first = False
        return self.said.get()

    def take(self):
        crewai_event_bus.flush(timeout=None)
        seen, self.seen = self.seen, []
        # Each event has a thread of its own, so they may be recorded in another order.
        return [shown for _, shown in sorted(seen, key=lambda one: one[0])]

    def crew(self):
        model = Person(model="person", conversation=self)
        agent = Agent(role="teller", goal="Move money.", backstory="Asks the bank.", llm=model, a2a=self.remote)
        task = Task(description="Do what the person says.", expected_output="What the bank said.", agent=agent)
        try:
            result = Crew(agents=[agent], tasks=[task]).kickoff().raw
        except Exception as error:
            result = repr(error)
        self.shown.put(self.take() + [{"result": result}])

    def turn(self, text):
        if self.running is None or not self.running.is_alive():
            self.first, self.running = True, threading.Thread(target=self.crew)
            self.running.start()
        self.said.put(text)
        seen = self.shown.get()
        if "result" in (seen[-1] if seen else {}):
            self.running.join()
        return seen

    def end(self):
        if self.running and self.running.is_alive():
            self.turn("")


def record(kind, *fields):
    def keep(source, event):
        talk.seen.append((event.emission_sequence, {event.type: {name: getattr(event, name) for name in fields}}))

    crewai_event_bus.on(kind)(keep)


record(A2AArtifactReceivedEvent, "append", "last_chunk")
record(A2AConnectionErrorEvent, "error", "status_code")
record(A2ADelegationCompletedEvent, "status", "result", "error")
record(A2AStreamingChunkEvent, "chunk")
talk = None
for line in sys.stdin:
    turn, seen = json.loads(line), []
    if "start" in turn:
        if talk:
            talk.end()
        talk = Conversation(turn["start"])
    else:
        seen = talk.turn(turn["say"][0])
    print(json.dumps(seen, ensure_ascii=False, default=str), file=say, flush=True)
if talk:
    talk.end()
