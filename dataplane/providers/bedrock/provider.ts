/** Amazon Bedrock's Converse API. */

import { bodyOf } from '../../json/unwritten.ts'
import type { Provider, ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut } from '../../wire/unsupported.ts'
import { withWorkaround } from '../anthropic/lessons.ts'
import { hasMarks, MARK, unmarkedBody } from '../marks.ts'
import { readAnswer } from './answers/answer.ts'
import { openConverseStream } from './answers/stream.ts'
import { withAutoMarks } from './auto-marks.ts'
import { accessKeyIn } from './aws/access-key.ts'
import { credentialSource } from './aws/credentials.ts'
import { regionIn, segmentOf } from './aws/endpoint.ts'
import { EVENT_STREAM } from './aws/frames.ts'
import { Signer } from './aws/signature.ts'
import { embeddingsRequest, readEmbeddings } from './embeddings.ts'
import { classify } from './errors.ts'
import { facts } from './facts.ts'
import { converseRequest, leftOutOf } from './request.ts'
import { losesMarks } from './tools.ts'

const EMBEDDINGS_TAKEN = new Set(['model', 'input', 'dimensions', 'encoding_format', 'input_type'])

export const bedrock: Provider = {
  ...facts,
  framing: EVENT_STREAM,
  operations: {
    chat: {
      encode(request, settings, maxTokens) {
        const { capabilities, model } = settings
        const written = converseRequest(request, settings, maxTokens)
        const isMarked = request.isAutoMarked && !hasMarks(request)
        const sent = isMarked ? withAutoMarks(written, settings) : written
        const isUnmarked =
          capabilities.marks === false && unmarkedBody(request.body) !== request.body
        return {
          path: `/model/${segmentOf(model)}/${request.stream ? 'converse-stream' : 'converse'}`,
          headers: headersOf(settings, request.stream),
          body: bodyOf(sent, request.bytes),
          leftOut: leftOutOf(request.body, sent),
          ...((isUnmarked || losesMarks(request.body, capabilities)) && { lost: [MARK] }),
        }
      },
      decode: readAnswer,
      openStream: openConverseStream,
    },
    embeddings: {
      encode(request, settings) {
        const { model } = settings
        return {
          path: `/model/${segmentOf(model)}/invoke`,
          headers: headersOf(settings, false),
          body: bodyOf(embeddingsRequest(request, settings), request.bytes),
          leftOut: membersLeftOut(request.body, EMBEDDINGS_TAKEN, []),
        }
      },
      decode: readEmbeddings,
    },
  },
  classify: (status, headers, body) => withWorkaround(classify(status, headers, body)),
  openCredentials: credentialSource,
  sign: (final, settings) => signerOf(settings, final.origin)?.sign(final) ?? {},
}

/** `settings.credential` is an API key, or an access key for signatures. */
function headersOf({ credential }: ProviderSettings, isStream: boolean) {
  const isSent = credential !== '' && accessKeyIn(credential) === undefined
  return {
    'content-type': 'application/json',
    accept: isStream ? EVENT_STREAM.mediaType : 'application/json',
    'accept-encoding': 'identity',
    ...(isSent && { authorization: `Bearer ${credential}` }),
  }
}

/** One for the life of a configuration, or of a fetched credential. */
const signers = new WeakMap<ProviderSettings, Signer | false>()

function signerOf(settings: ProviderSettings, origin: string): Signer | undefined {
  const known = signers.get(settings) ?? newSigner(settings, origin)
  signers.set(settings, known)
  return known || undefined
}

function newSigner({ credential, region }: ProviderSettings, origin: string): Signer | false {
  const key = accessKeyIn(credential)
  if (key === undefined) return false
  return new Signer(key, region ?? regionIn(origin) ?? (key.region || REGION_DEFAULT))
}

/** The default region of AWS's own tools. */
const REGION_DEFAULT = 'us-east-1'
