/** POST /v1/audio/transcriptions: the whole pipeline. */

import type { Api } from '../../request/api.ts'
import { handle, serve } from '../../request/pipeline.ts'
import { openAiWire } from '../openai/wire.ts'
import { transcriptionDialect } from './dialect.ts'

export const transcription: Api = {
  method: 'POST',
  path: '/v1/audio/transcriptions',
  summary: 'The text of a recording, through a route.',
  wire: openAiWire,
  run: (visit) =>
    handle(visit, transcriptionDialect, (applicant, dialect, served) => {
      const { request } = applicant
      if (request.operation === 'transcription' && !request.isJson)
        served.response.wholeType = 'text/plain; charset=utf-8'
      return serve(applicant, dialect, served)
    }),
}
