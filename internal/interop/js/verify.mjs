// Verifies agent cards with the official JavaScript SDK:
//
//	node verify.mjs
//
// The input is a JSON object: keys, a JWK Set; url, where the signatures have to say that it
// is; cards, the texts of agent cards by their names; and, if there is a server of gRPC, grpc
// with its address, an API key and the authority of its certificate. The output has the error
// of each card, "" for one whose signature is valid, and that of the extended card over gRPC,
// "gRPC", which the SDK's own client gets.
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { ClientFactory } from '@a2a-js/sdk/client'
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc'
import { credentials, InterceptingCall } from '@grpc/grpc-js'
import { text } from 'node:stream/consumers'

console.debug = () => {} // a signature that does not fit, of several
const asked = JSON.parse(await text(process.stdin))

const verify = verifyAgentCardSignature(async (kid, jku) => {
  const key = asked.keys.keys.find((k) => k.kid === kid)
  if (jku !== asked.url || !key) {
    throw new Error(`no key ${kid} at ${jku}`)
  }
  return key
})

async function overGRPC({ address, key, ca }) {
  const keyed = (options, next) =>
    new InterceptingCall(next(options), {
      start(metadata, listener, start) {
        metadata.set('x-api-key', key)
        start(metadata, listener)
      },
    })
  const transport = new GrpcTransportFactory({
    grpcChannelCredentials: credentials.createSsl(Buffer.from(ca)),
    grpcCallOptions: { interceptors: [keyed] },
  })
  const client = await new ClientFactory({ transports: [transport] }).createFromAgentCard({
    capabilities: { extendedAgentCard: true },
    supportedInterfaces: [{ url: address, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
  })
  const card = await client.getAgentCard()
  if (!card.skills.length) throw new Error('this is not the extended card')
  return card
}

const errors = {}
for (const [name, card] of Object.entries(asked.cards)) {
  errors[name] = ''
  try {
    await verify(JSON.parse(card))
  } catch (e) {
    errors[name] = e.message
  }
}
if (asked.grpc) {
  const card = await overGRPC(asked.grpc)
  errors.gRPC = ''
  try {
    // getAgentCard(options, verify) refuses every card with security schemes: the SDK
    // canonicalizes JSON, and its client hands over what it has decoded.
    await verify(AgentCard.toJSON(card))
  } catch (e) {
    errors.gRPC = e.message
  }
}
process.stdout.write(JSON.stringify(errors))
