// Talks with a server through a2a-ai-provider, which speaks A2A 0.3 and makes a model of
// the AI SDK of it, as a program built with the two does:
//
//   node provider.mjs URL
//
// Each line of the input is a turn of the person, and is answered by a line that lists
// what the SDK shows:
//
//   {"start": "generate"}   a new conversation, that waits for each answer (generateText)
//   {"start": "stream"}     or follows it (streamText)
//   {"say": ["text"]}       a message, with a text for each part
import { createInterface } from 'node:readline';
import { a2a } from 'a2a-ai-provider';
import { generateText, streamText } from 'ai';

console.log = () => {}; // the provider writes there what it sends and gets
globalThis.AI_SDK_LOG_WARNINGS = false;

const model = a2a(process.argv[2] + '/.well-known/agent-card.json');

class Conversation {
  constructor(how) {
    this.how = how;
    this.messages = [];
    this.contextId = crypto.randomUUID();
  }
  async turn(texts) {
    this.messages.push({ role: 'user', content: texts.map((text) => ({ type: 'text', text })) });
    const options = { model, messages: this.messages, providerOptions: { a2a: { contextId: this.contextId } }, maxRetries: 0 };
    const seen = [];
    try {
      if (this.how === 'stream') {
        const result = streamText({ ...options, onError: () => {} });
        for await (const part of result.fullStream) {
          if (part.type === 'text-delta') seen.push({ delta: part.text });
          if (part.type === 'finish') seen.push({ finish_reason: part.finishReason });
          if (part.type === 'error') throw part.error;
        }
        this.messages.push(...(await result.response).messages);
      } else {
        const result = await generateText(options);
        seen.push({ text: result.text, finish_reason: result.finishReason });
        this.messages.push(...result.response.messages);
      }
    } catch (error) {
      seen.push({ error: error.message });
    }
    return seen;
  }
}

let talk;
for await (const line of createInterface({ input: process.stdin })) {
  const turn = JSON.parse(line);
  let seen = [];
  if (turn.start) talk = new Conversation(turn.start);
  else seen = await talk.turn(turn.say);
  process.stdout.write(JSON.stringify(seen) + '\n');
}
