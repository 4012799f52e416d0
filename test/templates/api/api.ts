/** POST /v1/template: a chat completion in template's words. */

import { openAiWire } from '../../../dataplane/apis/openai/wire.ts'
import type { Api } from '../../../dataplane/request/api.ts'
import { handle } from '../../../dataplane/request/pipeline.ts'
import { dialect } from './dialect.ts'

export const template: Api = {
  method: 'POST',
  path: '/v1/template',
  summary: "A chat completion in template's words.",
  wire: openAiWire,
  run: (visit) => handle(visit, dialect),
}
