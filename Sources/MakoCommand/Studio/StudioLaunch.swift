/// What `mako studio` was started with.
package struct StudioLaunch: Sendable {
    package let database: StudioDatabase
    /// Nil: a free one.
    package let port: UInt16?
    /// Called with the link when the server listens.
    package let announce: @Sendable (String) -> Void
}

/// The server of `mako studio`, which a program built with the trait `Studio` has.
package enum StudioServing {
    private static let server = Guarded<(@Sendable (StudioLaunch) throws -> Void)?>(nil)

    /// Sets the function that serves the page until the process ends.
    package static func use(_ serve: @escaping @Sendable (StudioLaunch) throws -> Void) {
        server.withLock { $0 = serve }
    }

    static var current: (@Sendable (StudioLaunch) throws -> Void)? { server.withLock { $0 } }
}
