/** Errors of the API server or of the connection to it, in the original words, followed by the next step. */
import { ApiError } from '../../operator/kube/api-error.ts'

/** Other errors stay unchanged. */
export function explained(error: unknown, server: string): unknown {
  if (!(error instanceof Error)) return error
  if (error instanceof ApiError) {
    const sentence = refusal(error, server)
    return sentence === undefined ? error : new Error(sentence, { cause: error })
  }
  // The platform's exception contains a number there, and its name says the reason.
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const isNetwork = /^(E[A-Z]+|UND_ERR_|TimeoutError|CERT_|DEPTH_|SELF_|UNABLE_|ERR_)/.test(code)
  if (!isNetwork) return error
  const why = code === 'TimeoutError' ? 'it does not answer in time' : code
  return new Error(
    `The API server at ${server} does not respond (${why}). Check the kubeconfig and ` +
      '--context; for a stand-alone gateway give --admin URL.',
    { cause: error },
  )
}

/** Whether the path is unknown; for an unknown object, the message contains its name in quotes. */
export function isUnknownKind(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && !error.message.includes('"')
}

function refusal(error: ApiError, server: string): string | undefined {
  const { status, message } = error
  if (status === 401) {
    return (
      `The API server at ${server} does not accept your credentials (401). Log in again, ` +
      'or check the user of the kubeconfig and --context.'
    )
  }
  if (status === 403) {
    return (
      `${sentence(message)} Ask an administrator for the permission, as in the roles of the chart ` +
      '(rbac.aggregate), or choose another --context or -n.'
    )
  }
  if (isUnknownKind(error)) {
    return `The cluster at ${server} has no gateway resources: install the chart, or its definitions, first.`
  }
  if (status >= 300 && status < 400) {
    return (
      `The server at ${server} is not an API server of Kubernetes: it redirects (${status}). ` +
      'Check the server of the kubeconfig, and proxies on the way.'
    )
  }
  if (status === 429 || status >= 500) {
    return `${sentence(message)} The API server at ${server} is overloaded or failing: try again later.`
  }
  return undefined
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
