/** The stage of a request that each file of the data plane works for. */

/** The first one that a path starts with decides. */
const PLACES: readonly (readonly [place: string, stage: string])[] = [
  ['request/stages/receive.ts', 'parse'],
  ['request/stages/read.ts', 'parse'],
  ['request/stages/admit.ts', 'admit'],
  ['request/stages/prepare.ts', 'prepare'],
  ['request/stages/classify.ts', 'prepare'],
  ['request/stages/guard.ts', 'prepare'],
  ['request/stages/assemble.ts', 'prepare'],
  ['request/stages/attempting/writing.ts', 'encode'],
  ['request/stages/attempt', 'send'],
  ['request/stages/relay.ts', 'write'],
  ['request/stages/settle.ts', 'account'],
  ['request/stages/', 'match'],
  ['request/response.ts', 'write'],
  ['request/record.ts', 'account'],
  ['request/head-rules.ts', 'read'],
  ['request/', 'recognise'],
  ['listener/', 'read'],
  ['http1/', 'read'],
  ['websocket/', 'read'],
  ['apis/', 'recognise'],
  ['body/', 'parse'],
  ['json/', 'parse'],
  ['strategies/', 'match'],
  ['identity/', 'match'],
  ['tokens/meter', 'account'],
  ['tokens/', 'admit'],
  ['limits/', 'admit'],
  ['accounts/', 'admit'],
  ['store/', 'admit'],
  ['semantic/', 'prepare'],
  ['guardrails/', 'prepare'],
  ['retrieval/', 'prepare'],
  ['vector-stores/', 'prepare'],
  ['auxiliaries/', 'prepare'],
  ['upstream/encoding/', 'encode'],
  ['translation/passing-reader.ts', 'read answer'],
  ['translation/either-reader.ts', 'read answer'],
  ['translation/', 'encode'],
  ['providers/', 'encode'],
  ['upstream/answer/', 'read answer'],
  ['connection/http1/answer', 'read answer'],
  ['connection/', 'send'],
  ['upstream/', 'send'],
  ['usage/', 'account'],
  ['telemetry/', 'log, metrics, trace'],
]

export const STAGES = [...new Set(PLACES.map(([, stage]) => stage)), 'collect garbage', 'runtime']

export interface Frame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

/** undefined: the frame's caller decides, as for functions of Node. */
export function stageOf({ functionName, url }: Frame): string | undefined {
  if (functionName === '(garbage collector)') return 'collect garbage'
  const [, path] = url.split('/dataplane/')
  if (path === undefined) return undefined
  return PLACES.find(([place]) => path.startsWith(place))?.[1]
}
