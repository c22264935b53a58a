#if canImport(SwiftUI)
    import MakoCore
    import SwiftUI

    private struct DatabaseKey: EnvironmentKey {
        static let defaultValue: Database? = nil
    }

    extension EnvironmentValues {
        /// The database of ``LiveQuery`` and ``LiveObject`` in a view and the views in it; nil: `Database.default`.
        ///
        /// ```swift
        /// @Environment(\.database) private var db
        /// ```
        public var database: Database? {
            get { self[DatabaseKey.self] }
            set { self[DatabaseKey.self] = newValue }
        }
    }

    extension View {
        /// Sets the database of the live queries in a view and the views in it.
        ///
        /// ```swift
        /// WindowGroup { ContentView().database(db) }
        /// ```
        public nonisolated func database(_ database: Database?) -> some View {
            environment(\.database, database)
        }
    }
#endif
