/**
 * Packages of clouds, stores and clusters, which an installation may leave out (`npm install --omit=optional`): loaded
 * at first use.
 */

/** Says how to install a package that is absent. */
export async function optionalPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if (!isAbsent(cause, name)) throw cause
    throw new Error(`The package ${name} is not installed. To install it: npm install ${name}`, {
      cause,
    })
  }
}

/** Another package may be absent that the named one needs. */
function isAbsent(error: unknown, name: string): boolean {
  const { code, message } = Object(error)
  return code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`package '${name}'`)
}
