// Talks with a server through the RemoteA2AAgent of Google's ADK for JavaScript, which
// speaks A2A 0.3, as a program built with it does:
//
//   node adk.mjs URL [KEY]
//
// KEY is an API key. Each line of the input is a turn of the person, and is answered by a
// line that lists what ADK shows:
//
//   {"start": "remote"}   a new conversation, with the remote agent itself
//   {"start": "model"}    or with an agent that has a model, a stub, and hands over
//   {"say": ["text"]}     a message, with a text for each part
//   {"answer": [true]}    yes or no to each question that was asked
import { createInterface } from 'node:readline';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { BaseLlm, InMemoryRunner, LlmAgent, RemoteA2AAgent, getFunctionCalls, setLogger } from '@google/adk';

setLogger(null); // it would write to the output

const [url, key] = process.argv.slice(2);

const fetchImpl = (to, init) =>
  fetch(to, { ...init, headers: { ...init?.headers, ...(key && { 'X-API-Key': key }) } });
const clientFactory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] });
const agentCard = await new DefaultAgentCardResolver({ fetchImpl }).resolve(url);

// A model that hands every conversation to the remote agent.
class Handing extends BaseLlm {
  async *generateContentAsync() {
    const call = { functionCall: { name: 'transfer_to_agent', args: { agentName: 'bank' } } };
    yield { content: { role: 'model', parts: [call] } };
  }
  connect() {
    throw new Error('not live');
  }
}

const agent = (withModel) => {
  const bank = new RemoteA2AAgent({ name: 'bank', description: 'Moves money.', agentCard, clientFactory });
  return withModel ? new LlmAgent({ name: 'root', model: new Handing({ model: 'handing' }), subAgents: [bank] }) : bank;
};

const waits = (event, call) => event.longRunningToolIds?.includes(call.id);

// What a program that reads ADK's events gets to see.
const shown = (event) => [
  ...(event.errorMessage ? [{ author: event.author, error: event.errorMessage }] : []),
  ...(event.content?.parts ?? []).map((part) => ({
    ...part,
    author: event.author,
    ...(event.partial && { partial: true }),
    ...(part.functionCall && waits(event, part.functionCall) && { asks: true }),
  })),
];

// Without it an answer goes to the model, which hands it over without its task.
const resumabilityConfig = { isResumable: true };

class Conversation {
  static async start(how) {
    const talk = new Conversation();
    talk.runner = new InMemoryRunner({ agent: agent(how === 'model'), appName: 'interop', resumabilityConfig });
    talk.session = await talk.runner.sessionService.createSession({ appName: 'interop', userId: 'person' });
    talk.asked = [];
    return talk;
  }
  async turn(parts) {
    const seen = [];
    const asked = [];
    const newMessage = { role: 'user', parts };
    for await (const event of this.runner.runAsync({ userId: 'person', sessionId: this.session.id, newMessage })) {
      seen.push(...shown(event));
      asked.push(...getFunctionCalls(event).filter((call) => waits(event, call)));
    }
    this.asked = asked;
    return seen;
  }
  answer(confirmed) {
    return confirmed.map((yes, i) => {
      const { id, name } = this.asked[i];
      return { functionResponse: { id, name, response: { confirmed: yes } } };
    });
  }
}

let talk;
for await (const line of createInterface({ input: process.stdin })) {
  const turn = JSON.parse(line);
  let seen = [];
  if (turn.start) {
    talk = await Conversation.start(turn.start);
    const { name, protocolVersion, preferredTransport } = agentCard;
    seen = [{ card: name, protocol_version: protocolVersion, preferred_transport: preferredTransport }];
  } else {
    seen = await talk.turn(turn.say ? turn.say.map((text) => ({ text })) : talk.answer(turn.answer));
  }
  process.stdout.write(JSON.stringify(seen) + '\n');
}
