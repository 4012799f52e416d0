/** Runs in a pod: sends one request to a gateway and prints the answer. */
const [url = '', key = '', model = ''] = process.argv.slice(2)
const response = await fetch(`${url}/v1/chat/completions`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  body: JSON.stringify({ model, messages: [{ role: 'user', content: 'who' }] }),
})
process.stdout.write(await response.text())
