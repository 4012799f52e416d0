/**
 * The signatures of thoughts, without which newer models refuse a history of tool calls or of their pictures. They travel
 * to the client and back within the call or the picture, so that any replica has them; those that a client drops are
 * remembered here for a while.
 */
import { hash } from 'node:crypto'

import { type Json, recordOf, textOf } from '../../json/values.ts'
import type { ChatRequest, Sent, ToolCallExtra } from '../../wire/inner-form.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { Remembered } from '../remembered.ts'
import { bareName } from './model-name.ts'

/** The signatures to send with a history. */
export interface SignaturesOf {
  /** `position` is the place of the call within its answer. */
  call(call: Json, position: number): string | undefined
  /** `image` as it stands in `images` of a message. */
  picture(image: Json, url: string): string | undefined
}

/** The part of a request that names the tenant for which signatures are remembered. */
export type Asker = Pick<Sent<ChatRequest>, 'tenant'>

type Asked = Pick<ProviderSettings, 'capabilities' | 'model'>

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
  keep(asker: Asker, id: string, name: string, signed: Signed): ToolCallExtra {
    return this.#keep(asker, keyOf(id, name), signed)
  }

  keepOfPicture(asker: Asker, url: string, signed: Signed): ToolCallExtra {
    return this.#keep(asker, keyOfPicture(url), signed)
  }

  #keep({ tenant }: Asker, key: string, signed: Signed): ToolCallExtra {
    const { signature, model } = signed
    if (BASE64.test(signature)) this.#remembered.set(tenant, key, signed)
    return { google: { thought_signature: signature }, ...(model && { gw: { model } }) }
  }

  /** For a history that goes to this model. */
  of({ model, capabilities }: Asked, { tenant }: Asker): SignaturesOf {
    const { signs: isRequired = true } = capabilities
    const name = bareName(model)
    const signatureOf = (one: Json, key: string, isAlone: boolean) => {
      const signed = carried(one) ?? this.#remembered.get(tenant, key)
      if (signed !== undefined && (signed.model ?? name) === name) return signed.signature
      return isRequired && isAlone ? LOST : undefined
    }
    return {
      // The first call of an answer vouches for those beside it.
      call: (call, position) => signatureOf(call, keyOfCall(call), position === 0),
      picture: (image, url) => signatureOf(image, keyOfPicture(url), true),
    }
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

function keyOfCall({ id, function: called }: Json): string {
  return keyOf(textOf(id) ?? '', textOf(recordOf(called).name) ?? '')
}

/** Pictures are megabytes, and no two end alike. */
function keyOfPicture(url: string): string {
  return `picture ${url.length} ${hash('sha256', url.slice(-4_096))}`
}

function keyOf(id: string, name: string): string {
  return `${id} ${name}`
}
