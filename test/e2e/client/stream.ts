/** Runs in a pod: streams an answer with OpenAI's own client, from OPENAI_BASE_URL with OPENAI_API_KEY. */
import OpenAI from 'openai'

const [model = '', content = ''] = process.argv.slice(2)
const stream = await new OpenAI().chat.completions.create({
  model,
  stream: true,
  messages: [{ role: 'user', content }],
})
const pieces: string[] = []
for await (const event of stream) {
  const piece = event.choices[0]?.delta.content ?? ''
  if (piece !== '') pieces.push(piece)
}
process.stdout.write(JSON.stringify({ pieces: pieces.length, text: pieces.join('') }))
