/** POST /v1/template: a chat completion in template's words. */
import type { Api } from '../../../dataplane/apis/contract.ts'
import { openAiWire } from '../../../dataplane/apis/openai/wire.ts'
import { handle } from '../../../dataplane/pipeline.ts'
import { dialect } from './dialect.ts'

export const template: Api = {
  method: 'POST',
  path: '/v1/template',
  summary: "A chat completion in template's words.",
  wire: openAiWire,
  run: (visit) => handle(visit, dialect),
}
