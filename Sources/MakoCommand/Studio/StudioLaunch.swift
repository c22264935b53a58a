/// The arguments of `mako studio`.
package struct StudioLaunch: Sendable {
    package let database: StudioDatabase
    /// nil: any free port.
    package let port: UInt16?
    /// Called with the link once the server listens.
    package let announce: @Sendable (String) -> Void
}

/// The server of `mako studio`, in programs built with the trait `Studio`.
package enum StudioServing {
    private static let server = Guarded<(@Sendable (StudioLaunch) throws -> Void)?>(nil)

    /// Sets the function that serves the page until the process ends.
    package static func use(_ serve: @escaping @Sendable (StudioLaunch) throws -> Void) {
        server.withLock { $0 = serve }
    }

    static var current: (@Sendable (StudioLaunch) throws -> Void)? { server.withLock { $0 } }
}
