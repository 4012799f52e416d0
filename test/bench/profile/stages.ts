/** The stages of a request by the places of the code that does their work. */

/** The first that a path begins with is its stage. */
const PLACES: readonly (readonly [string, string])[] = [
  ['listener/', 'read'],
  ['http1/', 'read'],
  ['apis/', 'recognise'],
  ['pipeline.ts', 'recognise'],
  ['body/', 'parse'],
  ['json/', 'parse'],
  ['stages/', 'match'],
  ['strategies/', 'match'],
  ['identity/', 'match'],
  ['tokens/', 'admit'],
  ['limits/', 'admit'],
  ['budgets/', 'admit'],
  ['store/', 'admit'],
  ['providers/', 'encode'],
  ['upstream/answer/', 'read answer'],
  ['upstream/', 'send'],
  ['streaming/', 'read answer'],
  ['inspection/', 'read answer'],
  ['response.ts', 'write'],
  ['meter.ts', 'account'],
  ['usage/', 'account'],
  ['telemetry/', 'log, metrics, trace'],
]

export const STAGES = [...new Set(PLACES.map(([, stage]) => stage)), 'collect garbage', 'runtime']

export interface Frame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

/** Work of the runtime counts to the stage that asked for it; undefined where the frame does not decide. */
export function stageOf({ functionName, url }: Frame): string | undefined {
  if (functionName === '(garbage collector)') return 'collect garbage'
  const [, path] = url.split('/dataplane/')
  if (path === undefined) return undefined
  return PLACES.find(([place]) => path.startsWith(place))?.[1]
}
