/** The part of a request that has these headers, by lower-case name. */
import { headerIn } from '../../dataplane/http1/header-lines.ts'

export type Headers = Readonly<Record<string, string>>

export function headed(headers: Headers) {
  return { header: (name: string) => headerIn(Object.entries(headers).flat(), name) }
}
