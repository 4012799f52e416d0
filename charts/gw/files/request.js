// Sends requests until the gateway answers, or the time is up. The last line prints the answer.
import { readFileSync } from 'node:fs'

const { GW_URL, GW_SECONDS, GW_KEY_FILE } = process.env
const key = readFileSync(GW_KEY_FILE, 'utf8')
const end = Date.now() + Number(GW_SECONDS) * 1000
const request = {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({
    model: 'chat',
    messages: [{ role: 'user', content: 'Are you there?' }],
    max_tokens: 32,
  }),
}

async function ask() {
  const answer = await fetch(GW_URL, { ...request, signal: AbortSignal.timeout(10_000) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${answer.status} ${text}`)
  return JSON.parse(text).choices[0].message.content
}

for (;;) {
  try {
    console.log(`The gateway answered: ${await ask()}`)
    break
  } catch (error) {
    if (Date.now() > end) {
      console.error(`${GW_URL} did not answer: ${error.message}; ${error.cause?.message ?? ''}`)
      process.exit(1)
    }
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}
