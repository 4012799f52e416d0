/**
 * Signatures of thoughts, without which newer models refuse a history with tool calls or with their pictures. They
 * travel to the client and back in the call or the picture, so any replica has them. If a client drops them, the
 * gateway remembers them for a while.
 */
import { hash } from 'node:crypto'

import { type Json, recordOf, textOf } from '../../json/values.ts'
import type { ChatRequest, Sent, ToolCallExtra } from '../../wire/inner-form.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { Remembered } from '../remembered.ts'
import { bareName } from './model-name.ts'

/** The signatures to send with a history. */
export interface SignaturesOf {
  /** `position`: the index of the call in its answer. */
  call(call: Json, position: number): string | undefined
  /** `image`: an entry of `images` of a message. */
  picture(image: Json, url: string): string | undefined
}

/** The part of a request that names the tenant whose signatures are remembered. */
export type Asker = Pick<Sent<ChatRequest>, 'tenant'>

type Asked = Pick<ProviderSettings, 'capabilities' | 'model'>

interface Signed {
  readonly signature: string
  /** The model that signed; only that model accepts the signature. undefined if the client does not name it. */
  readonly model: string | undefined
}

/** The API's placeholder for a signature that is lost or comes from another model. */
const LOST = 'skip_thought_signature_validator'
const BASE64 = /^[A-Za-z0-9+/_-]{1,65536}={0,2}$/

export class Signatures {
  /** Signatures by id and name of the call. */
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

  /** For a history for this model. */
  of({ model, capabilities }: Asked, { tenant }: Asker): SignaturesOf {
    const { signs: isRequired = true } = capabilities
    const name = bareName(model)
    const signatureOf = (one: Json, key: string, isAlone: boolean) => {
      const signed = carried(one) ?? this.#remembered.get(tenant, key)
      if (signed !== undefined && (signed.model ?? name) === name) return signed.signature
      return isRequired && isAlone ? LOST : undefined
    }
    return {
      // The first call of an answer carries the signature for the calls beside it.
      call: (call, position) => signatureOf(call, keyOfCall(call), position === 0),
      picture: (image, url) => signatureOf(image, keyOfPicture(url), true),
    }
  }
}

/** The signature that the client sent back. */
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

/** Pictures have megabytes, and no two have the same end. */
function keyOfPicture(url: string): string {
  return `picture ${url.length} ${hash('sha256', url.slice(-4_096))}`
}

function keyOf(id: string, name: string): string {
  return `${id} ${name}`
}
