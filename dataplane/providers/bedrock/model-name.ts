/** The parts of a model's id: `eu.amazon.nova-pro-v1:0`, or an ARN that ends with one. */

export interface ModelName {
  /** Empty if the id is that of an inference profile or a deployment with a custom name. */
  readonly maker: string
  /** The name without its version. */
  readonly name: string
}

const ID =
  /^(?:(?:us-gov|us|eu|apac|jp|au|ca|mx|sa|me|af|il|in|uk|global)\.)?([a-z0-9]+)\.(.+?)(?:-v\d+)?(?::\w+)*$/

export function namedIn(model: string): ModelName {
  const id = model.slice(model.lastIndexOf('/') + 1)
  const [, maker = '', name = id] = ID.exec(id) ?? []
  return { maker, name }
}
