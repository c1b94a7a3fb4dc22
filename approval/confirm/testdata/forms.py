"""Writes Haystack's own serialized forms, for haystack2.json and haystack3.json."""

import json
from dataclasses import asdict

try:
    from haystack.hooks import human_in_the_loop as hitl
except ImportError:
    from haystack import human_in_the_loop as hitl

ASKED = {"amount": 7, "to": "bob"}


def strategy(policy, ui, **templates):
    return hitl.BlockingConfirmationStrategy(confirmation_policy=policy, confirmation_ui=ui, **templates)


def run(*answer):
    class UI(hitl.SimpleConsoleUI):
        def get_user_confirmation(self, *_):
            return hitl.ConfirmationUIResult(*answer)

    asks = strategy(hitl.AlwaysAskPolicy(), UI())
    decision = asks.run(tool_name="transfer", tool_description="", tool_params=ASKED, tool_call_id="c1.1")
    return {"answer": asdict(hitl.ConfirmationUIResult(*answer)), "decision": decision.to_dict()}


out = {
    "strategies": [
        strategy(hitl.AskOncePolicy(), hitl.SimpleConsoleUI()).to_dict(),
        strategy(hitl.AlwaysAskPolicy(), hitl.RichConsoleUI(), reject_template="no {tool_name}").to_dict(),
        strategy(hitl.NeverAskPolicy(), hitl.SimpleConsoleUI(), modify_template="now {final_tool_params}").to_dict(),
    ],
    "runs": [
        run("confirm"),
        run("reject"),
        run("reject", "too much"),
        run("modify", None, {"amount": 5}),
        run("modify", "less", {"amount": 5}),
    ],
    "decision": hitl.ToolExecutionDecision("transfer", False).to_dict(),
}
if hasattr(hitl, "ConfirmationHook"):
    shared = strategy(hitl.AskOncePolicy(), hitl.SimpleConsoleUI())
    out["hook"] = hitl.ConfirmationHook({"transfer": shared, ("read", "list"): shared, "*": shared}).to_dict()
print(json.dumps(out, indent=1, sort_keys=True))
