/** A refusal of the simulator: OpenAI's error object. */
export class SimulatedRefusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly code: string | null
  readonly param: string | null

  constructor(
    status: number,
    message: string,
    about: { readonly code?: string; readonly param?: string } = {},
  ) {
    super(message)
    this.status = status
    this.code = about.code ?? null
    this.param = about.param ?? null
  }

  get body(): unknown {
    const { message, param, code } = this
    return { error: { message, type: typeOf(this.status), param, code } }
  }
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}
