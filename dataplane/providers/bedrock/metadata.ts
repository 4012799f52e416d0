/** Labels of a request for Bedrock's logs: the client's labels, if Bedrock accepts their characters. */

import { isRecord, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'

const LABELS_MAX = 16
const ACCEPTED = /^[A-Za-z0-9\s:_@$#=/+,.-]{1,256}$/

export function metadataOf(body: ChatBody): Readonly<Record<string, string>> {
  const user = textOf(body.user) ?? textOf(body.safety_identifier)
  const written = isRecord(body.metadata) ? Object.entries(body.metadata) : []
  const labels: [string, string][] = []
  for (const [name, value] of [...written, ['user', user] as const]) {
    if (labels.length === LABELS_MAX) break
    if (typeof value !== 'string' || !ACCEPTED.test(name) || !ACCEPTED.test(value)) continue
    if (name !== 'user' || value === user) labels.push([name, value])
  }
  return Object.fromEntries(labels)
}
