import { SendMessageRequest, Task } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';

const APPROVAL = 'urn:a2a-server:extension:tool-approval:v1';
const client = await new ClientFactory().createFromUrl(process.env.SERVER);
const send = async (message) => {
  message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...message };
  return Task.toJSON(await client.sendMessage(SendMessageRequest.fromJSON({ message })));
};

const asking = await send({ parts: [{ text: '/transfer_money amount=5 to=typescript' }] });
const { approvals } = asking.status.message.metadata[APPROVAL];
const decisions = approvals.map(({ id, digest }) => ({ id, digest, decision: 'approve' }));
const done = await send({ taskId: asking.id, parts: [{ data: { type: 'approval_response', decisions } }] });
console.log(done.status.state, JSON.stringify(done.artifacts));
