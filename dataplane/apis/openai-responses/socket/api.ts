/** POST /v1/responses on a WebSocket: OpenAI's "WebSocket mode". */
import { GatewayError } from '../../../base/errors.ts'
import type { SocketApi } from '../../../request/api.ts'
import { openAiWire } from '../../openai/wire.ts'
import { ResponsesDialogue } from './dialogue.ts'

export const responsesSocket: SocketApi = {
  lastEvents: new Set(['response.completed', 'response.failed', 'response.incomplete']),
  begin: (keeping) => new ResponsesDialogue(keeping),
  refusalEvent: (status, facts, body, members) =>
    `{"type":"error",${members}"status":${status},"headers":${JSON.stringify(facts)},${body.slice(1)}`,
  lastEvent(requestId) {
    const message =
      'This connection has been open for 60 minutes, which is the limit. Open a new one to continue.'
    const error = new GatewayError('ERR_GW_INVALID_REQUEST', message, {
      shownCode: 'websocket_connection_limit_reached',
    })
    return this.refusalEvent(error.status, {}, openAiWire.refusal(error, requestId), '')
  },
}
