/** One chat request with tools and a picture, written for upstreams: passing bytes, and translations. */
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { aRequest, someSettings } from '../../helpers/providers/a-request.ts'
import { CANONICAL } from '../../helpers/providers/provider-fixtures.ts'
import { compare } from './runner.ts'

const request = aRequest(CANONICAL)
const settings = someSettings()
const written = { length: 0 }

function writing(name: string) {
  const chat = PROVIDERS.get(name)?.operations.chat
  if (chat === undefined) throw new Error(`${name} has no chats`)
  return (times: number) => {
    for (let index = 0; index < times; index++)
      written.length += String(chat.encode(request, settings, undefined).body).length
  }
}

await compare(import.meta.url, 50_000, {
  'openai, passed': writing('openai'),
  anthropic: writing('anthropic'),
  gemini: writing('gemini'),
  bedrock: writing('bedrock'),
})
