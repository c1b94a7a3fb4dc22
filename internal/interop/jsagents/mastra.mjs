// Asks for a transfer through Mastra: node mastra.mjs stream|blocking PAYEE
import { A2AAgent } from '@mastra/core/a2a';

const [way, payee] = process.argv.slice(2);
const bank = new A2AAgent({ url: process.env.SERVER, protocolVersion: '1.0', headers: { 'X-API-Key': process.env.API_KEY } });
const text = `/transfer_money amount=5 to=${payee}`;
console.log(way === 'stream' ? await (await bank.stream(text)).text : (await bank.generate(text)).text);
