/**
 * One event of a recorded stream, read and written for a client of chat completions: passing bytes, and translations.
 */
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import { aRequest, ORIGIN } from '../../helpers/providers/a-request.ts'
import { readEvents } from '../../helpers/providers/provider-fixtures.ts'
import { compare } from './runner.ts'

const request = aRequest({ stream: true })
const read = { length: 0 }

function reading(name: string) {
  const provider = PROVIDERS.get(name)
  const pair = provider && pairOf(openAiChatDialect, provider)
  if (pair === undefined) throw new Error(`${name} has no chats`)
  const events = readEvents(name, 'stream')
  return (times: number) => {
    for (let index = 0; index < times; index += events.length) {
      const reader = pair.openStream(request, ORIGIN)
      for (const event of events) read.length += reader?.read(event).out.length ?? 0
    }
  }
}

await compare(import.meta.url, 400_000, {
  'openai, passed': reading('openai'),
  anthropic: reading('anthropic'),
  gemini: reading('gemini'),
  bedrock: reading('bedrock'),
})
