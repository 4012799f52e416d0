/** The models that an upstream lists itself, remembered for minutes. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { isModelName } from '../../config/routes/named-models.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { readBounded } from '../../connection/bounded-body.ts'
import { isRecord, listOf, parsed, recordOf, textOf } from '../../json/values.ts'
import { tokensOf, WINDOW_NAMES } from '../../wire/window-questions.ts'
import type { Target } from '../live/targets.ts'

export interface ListedModel {
  readonly name: string
  /** undefined if the list does not state it. */
  readonly window: number | undefined
}

const FRESH_MS = 300_000
/** After a failure the upstream is asked again sooner. */
const FAILED_MS = 15_000
const READ_MS_MAX = 5_000
/** Lists of a thousand models have about one megabyte. */
const LIST_BYTES_MAX = 8_388_608
const MODELS_MAX = 5_000

const NONE: readonly ListedModel[] = []

export class ListedModels {
  /** Why the last question had no list; undefined if it had one. */
  fault: string | undefined
  readonly #read: () => Promise<readonly ListedModel[]>
  readonly #clock: Pick<Clock, 'now'>
  #models: readonly ListedModel[] | undefined
  #freshUntil = Number.NEGATIVE_INFINITY
  #reading: Promise<readonly ListedModel[]> | undefined

  constructor(read: () => Promise<readonly ListedModel[]>, clock: Pick<Clock, 'now'>) {
    this.#read = read
    this.#clock = clock
  }

  /** Those of the last list. */
  get known(): readonly ListedModel[] {
    return this.#models ?? NONE
  }

  /** Waits only for the first list; later ones replace the last while it is used. */
  models(): readonly ListedModel[] | Promise<readonly ListedModel[]> {
    if (this.#clock.now() < this.#freshUntil) return this.known
    this.#reading ??= this.#look()
    return this.#models ?? this.#reading
  }

  async #look(): Promise<readonly ListedModel[]> {
    let ms = FRESH_MS
    try {
      this.#models = await this.#read()
      this.fault = undefined
    } catch (error) {
      this.fault = error instanceof Error ? error.message : String(error)
      ms = FAILED_MS
    }
    this.#freshUntil = this.#clock.now() + ms
    this.#reading = undefined
    return this.known
  }
}

/** A changed configuration may take other names, so that its lists are read again. */
const lists = new WeakMap<UpstreamSettings, ListedModels>()

/** undefined if the configuration does not ask for the list of the upstream. */
export function listedBy(target: Target, clock: Pick<Clock, 'now'>): ListedModels | undefined {
  const { settings, state } = target
  if (settings.section.list_models !== true || settings.disabled !== undefined) return undefined
  const known = lists.get(settings)
  if (known !== undefined) return known
  const read = () => readModelList(state.questions, target.settingsNow ?? settings)
  const made = new ListedModels(read, clock)
  lists.set(settings, made)
  return made
}

/** Throws if the upstream sends no list. Leaves out names that the upstream does not take here. */
async function readModelList(
  pool: Dispatcher,
  { basePath, credential, headers, provider, takesModel }: UpstreamSettings,
): Promise<readonly ListedModel[]> {
  const { modelList = { path: '/models' }, credentialHeader } = provider
  if (modelList === false) return NONE
  const carried = credentialHeader ?? 'authorization'
  const { statusCode, body } = await pool.request({
    path: basePath + modelList.path,
    method: 'GET',
    headers: {
      ...(credential !== '' && {
        [carried]: carried === 'authorization' ? `Bearer ${credential}` : credential,
      }),
      ...modelList.headers,
      ...headers,
      'accept-encoding': 'identity',
    },
    signal: AbortSignal.timeout(READ_MS_MAX),
  })
  const answer = await readBounded(body, LIST_BYTES_MAX, 'its list of models is too long')
  if (statusCode !== 200) throw new Error(`it answered ${statusCode} when asked for its models`)
  return modelsIn(parsed(answer.toString()), takesModel ?? (() => true))
}

/** Entries of OpenAI's and Anthropic's list have an id, those of Gemini a name below `models/`. */
function modelsIn(list: unknown, takes: (name: string) => boolean): readonly ListedModel[] {
  if (!isRecord(list)) throw new Error('its list of models is not valid JSON')
  const entries = [...listOf(list.data), ...listOf(list.models)].slice(0, MODELS_MAX).map(recordOf)
  return entries.flatMap((entry) => {
    const name = textOf(entry.id) ?? textOf(entry.name)?.replace(/^models\//, '')
    if (name === undefined || !isModelName(name) || !takes(name)) return []
    const window = WINDOW_NAMES.map((member) => tokensOf(entry[member])).find(Boolean)
    return { name, window }
  })
}
