/** Where the API has a model: its path below the version, at Google AI and on Vertex AI. */
import type { ProviderSettings } from '../../wire/provider.ts'
import { vertexOf } from './facts.ts'

/** The path of a model; the request appends `:` and an action. */
export function modelPath(settings: ProviderSettings): string {
  const { model } = settings
  const vertex = vertexOf(settings)
  if (vertex === undefined) {
    return pathOf(/^(?:models|tunedModels)\//.test(model) ? model : `models/${model}`)
  }
  if (model.startsWith('projects/')) return pathOf(model)
  const { project, region } = vertex
  return pathOf(`projects/${project}/locations/${region}/${publishedName(model)}`)
}

/** Models of other makers are written `maker/model`; tuned models have an endpoint. */
function publishedName(model: string): string {
  if (/^(?:publishers|endpoints)\//.test(model)) return model
  if (model.startsWith('models/')) return `publishers/google/${model}`
  const [maker, name] = model.split('/')
  return name === undefined
    ? `publishers/google/models/${model}`
    : `publishers/${maker}/models/${name}`
}

function pathOf(name: string): string {
  return `/${name.split('/').map(encodeURIComponent).join('/')}`
}
