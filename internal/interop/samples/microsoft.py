import asyncio, os
from agent_framework import Message
from agent_framework_a2a import A2AAgent

APPROVAL = "urn:a2a-server:extension:tool-approval:v1"

async def main():
    async with A2AAgent(name="bank", url=os.environ["SERVER"]) as agent:
        session = agent.create_session()
        answer = await agent.run("/transfer_money amount=5 to=agent-framework", session=session)
        for request in answer.user_input_requests:
            print(request.text)
            asked = request.additional_properties["a2a_input_required_message"]["metadata"][APPROVAL]["approvals"]
            decisions = [{"id": a["id"], "digest": a["digest"], "decision": "approve"} for a in asked]
            decided = {"a2a": {APPROVAL: {"type": "approval_response", "decisions": decisions}}}
            answer = await agent.run(Message("user", ["approved"], additional_properties=decided), session=session)
        print(answer.text)

asyncio.run(main())
