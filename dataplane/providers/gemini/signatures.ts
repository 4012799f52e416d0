/**
 * The signatures of thoughts, without which newer models refuse a history of tool calls. They travel to the client and
 * back within the call, so that any replica has them; those that a client drops are remembered here for a while.
 */

import { type Json, recordOf, textOf } from '../../json/values.ts'
import type { ChatRequest, Sent, ToolCallExtra } from '../../wire/inner-form.ts'
import { Remembered } from '../remembered.ts'
import { bareName, signsCalls } from './models.ts'

/** The signature to send with a call of the history; `position` is its place within its answer. */
export type SignatureOf = (call: Json, position: number) => string | undefined

/** The part of a request that names the tenant for which signatures are remembered. */
export type Asker = Pick<Sent<ChatRequest>, 'tenant'>

interface Signed {
  readonly signature: string
  /** The model that signed, which alone accepts the signature; undefined where the client does not say. */
  readonly model: string | undefined
}

/** The API's own stand-in where the signature is lost or is another model's. */
const LOST = 'skip_thought_signature_validator'
const BASE64 = /^[A-Za-z0-9+/_-]{1,65536}={0,2}$/

export class Signatures {
  /** By id and name of the call. */
  readonly #remembered = new Remembered<Signed>(({ signature }) => signature.length)

  /** The members of a call that carry its signature to the client and back. */
  keep({ tenant }: Asker, id: string, name: string, signed: Signed): ToolCallExtra {
    const { signature, model } = signed
    if (BASE64.test(signature)) this.#remembered.set(tenant, keyOf(id, name), signed)
    return { google: { thought_signature: signature }, ...(model && { gw: { model } }) }
  }

  /** For a history that goes to this model. */
  of(model: string, { tenant }: Asker): SignatureOf {
    const isRequired = signsCalls(model)
    const name = bareName(model)
    return (call, position) => {
      const signed = carried(call) ?? this.#recall(tenant, call)
      if (signed !== undefined && (signed.model ?? name) === name) return signed.signature
      // The first call of an answer vouches for those beside it.
      return isRequired && position === 0 ? LOST : undefined
    }
  }

  #recall(tenant: string | undefined, call: Json): Signed | undefined {
    const id = textOf(call.id)
    const name = textOf(recordOf(call.function).name)
    return this.#remembered.get(tenant, keyOf(id ?? '', name ?? ''))
  }
}

/** The signature that the client has handed back. */
function carried(call: Json): Signed | undefined {
  const { google, vertex, gw } = recordOf(call.extra_content)
  const { thought_signature: signed } = { ...recordOf(vertex), ...recordOf(google) }
  const signature = textOf(signed)
  if (signature === undefined || !BASE64.test(signature)) return undefined
  return { signature, model: textOf(recordOf(gw).model) }
}

function keyOf(id: string, name: string): string {
  return `${id} ${name}`
}
