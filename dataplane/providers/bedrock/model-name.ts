/** The parts of a model's id: `eu.amazon.nova-pro-v1:0`, or an ARN that ends with one. */

export interface ModelName {
  /** Empty where the id is a profile's or a deployment's of your choice. */
  readonly maker: string
  /** Without its version. */
  readonly name: string
}

const ID =
  /^(?:(?:us-gov|us|eu|apac|jp|au|ca|mx|sa|me|af|il|in|uk|global)\.)?([a-z0-9]+)\.(.+?)(?:-v\d+)?(?::\w+)*$/

export function namedIn(model: string): ModelName {
  const id = model.slice(model.lastIndexOf('/') + 1)
  const [, maker = '', name = id] = ID.exec(id) ?? []
  return { maker, name }
}
