/** The refusal of what the API cannot do. */
import { GatewayError } from '../../../base/errors.ts'

export function unsupported(param: string, message: string): GatewayError {
  return new GatewayError('ERR_GW_INVALID_REQUEST', `gemini: ${message}`, { param })
}
