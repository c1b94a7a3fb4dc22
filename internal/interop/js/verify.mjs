// Verifies agent cards with the official JavaScript SDK:
//
//	node verify.mjs
//
// The input is a JSON object: keys, a JWK Set; url, where the signatures have to say that it
// is; cards, the texts of agent cards by their names. The output has the error of each card,
// "" for one whose signature is valid.
import { verifyAgentCardSignature } from '@a2a-js/sdk'
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

const errors = {}
for (const [name, card] of Object.entries(asked.cards)) {
  errors[name] = ''
  try {
    await verify(JSON.parse(card))
  } catch (e) {
    errors[name] = e.message
  }
}
process.stdout.write(JSON.stringify(errors))
