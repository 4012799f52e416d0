/** Runs all cases of a client and prints the results as one JSON object; streams yield texts and `{ usage }`. */
export const args = JSON.parse(process.argv[2])
export const api = process.argv[3]
export const version = process.argv[4]
export const { keys, url } = args
export const baseURL = `${url}/v1`
export const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

async function streamed(client, key, model) {
  let text = ''
  let usage
  for await (const piece of client.stream(key, model)) {
    if (typeof piece === 'string') text += piece
    else usage = piece.usage
  }
  return { text, usage }
}

async function left(client, key, model) {
  const pieces = client.stream(key, model)
  await pieces.next()
  const at = Date.now()
  await pieces.return()
  return { at }
}

async function twice(client, key) {
  await client.ask(key, 'plain')
  return await client.ask(key, 'plain')
}

export async function run(client) {
  const { leave = (key, model) => left(client, key, model), tools, shape } = client
  const cases = {
    whole: (key) => client.ask(key, 'plain'),
    stream: (key) => streamed(client, key, 'plain'),
    tools: tools && ((key) => tools(key, 'tools')),
    shape: shape && ((key) => shape(key, 'shape')),
    bad: (key) => client.ask(key, 'bad'),
    unknown: (key) => client.ask(key, 'plain'),
    spent: (key) => twice(client, key),
    scope: (key) => client.ask(key, 'plain'),
    missing: (key) => client.ask(key, 'nothing'),
    busy: (key) => twice(client, key),
    cut: (key) => streamed(client, key, 'cut'),
    slow: (key) => streamed(client, key, 'slow'),
    leave: (key) => leave(key, 'endless'),
  }
  const seen = {}
  for (const [name, one] of Object.entries(cases)) {
    if (!one) continue
    try {
      const result = await one(keys[name])
      seen[name] = typeof result === 'object' ? result : { text: result }
    } catch (error) {
      const { lastError = error } = error
      const status = lastError.status ?? lastError.statusCode ?? error.status ?? error.statusCode
      seen[name] = { error: `${error.name}: ${error.message}`.slice(0, 300), status }
    }
  }
  process.stdout.write(`\n${JSON.stringify(seen)}\n`, () => process.exit(0))
}
