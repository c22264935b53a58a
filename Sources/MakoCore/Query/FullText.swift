import MakoRecords
import MakoStorage

extension Condition {
    /// Returns the condition that a text property has the words of a full-text expression; the property needs a
    /// full-text index.
    ///
    /// ```swift
    /// let articles = try Article.query().where(.match(\.body, "steam AND eng*")).fetch()
    /// ```
    public static func match(_ keyPath: KeyPath<Row<Root>, Column<String>>, _ text: String) -> Condition {
        matching(keyPath.path(), text)
    }
    /// Returns the condition that an optional text property has the words of a full-text expression; nil has none.
    public static func match(_ keyPath: KeyPath<Row<Root>, Column<String?>>, _ text: String) -> Condition {
        matching(keyPath.path(), text)
    }

    /// Returns the condition that any property of the entity's only full-text index has the words of a full-text
    /// expression.
    public static func match(_ text: String) -> Condition {
        Condition(.match(.column([Root.entityModel.givenTable]), .literal(.text(text))))
    }

    /// Returns the condition that a text property has the words of a pattern; the property needs a full-text index.
    ///
    /// ```swift
    /// let articles = try Article.query().where(.match(\.body, MatchPattern(allTokens: searchField.text))).fetch()
    /// ```
    public static func match(_ keyPath: KeyPath<Row<Root>, Column<String>>, _ pattern: MatchPattern) -> Condition {
        matching(keyPath.path(), pattern.text)
    }
    /// Returns the condition that an optional text property has the words of a pattern; nil has none.
    public static func match(_ keyPath: KeyPath<Row<Root>, Column<String?>>, _ pattern: MatchPattern) -> Condition {
        matching(keyPath.path(), pattern.text)
    }
    /// Returns the condition that any property of the entity's only full-text index has the words of a pattern.
    public static func match(_ pattern: MatchPattern) -> Condition { match(pattern.text) }

    private static func matching(_ path: [PathStep], _ text: String) -> Condition {
        ConditionBuilder.make(path) { (expr) throws(MakoError) in .match(expr, .literal(.text(text))) }
    }
}

extension MatchPattern: ConditionValue {
    /// The pattern as the value of a parameter: `where("body MATCH ?", pattern)`.
    public var conditionValue: StoredValue { .text(text) }
}

/// The order by full-text rank.
public struct RankOrder: Sendable, Hashable {
    /// By BM25, the best match first.
    public static let rank = RankOrder()
}

extension Query {
    /// Sorts by the rank of the first `MATCH` of the conditions, the best match first.
    ///
    /// ```swift
    /// let best = try Article.query().where("body MATCH ?", words).orderBy(.rank).limit(20).fetch()
    /// ```
    public func orderBy(_ rank: RankOrder) -> Query { orderBy("rank") }

    /// Returns the objects, each with the text of a property in which the matched words are marked; nil where the
    /// property is nil.
    ///
    /// ```swift
    /// let found = try Article.query().where("body MATCH 'steam'").orderBy(.rank).excerpts(\.body, .init(before: "[", behind: "]", words: 12))
    /// for (article, text) in found { print(article.title, text ?? "") }
    /// ```
    ///
    /// - Parameters:
    ///   - keyPath: the text property.
    ///   - style: the marks and the number of words. Without a number of words the result has the whole text. The
    ///     default marks are HTML's `<b>`.
    /// - Throws: `MakoError.query` when no condition matches words of the property.
    public func excerpts(
        _ keyPath: KeyPath<Row<T>, Column<String>>, _ style: ExcerptStyle = ExcerptStyle()
    ) throws(MakoError) -> [(object: T, text: String?)] { try excerpts(try keyPath.path().expr(), style) }
    /// Returns the objects, each with the text of an optional property in which the matched words are marked; nil where
    /// the property is nil.
    public func excerpts(
        _ keyPath: KeyPath<Row<T>, Column<String?>>, _ style: ExcerptStyle = ExcerptStyle()
    ) throws(MakoError) -> [(object: T, text: String?)] { try excerpts(try keyPath.path().expr(), style) }

    private func excerpts(
        _ column: Expr, _ style: ExcerptStyle
    ) throws(MakoError) -> [(object: T, text: String?)] {
        let planned = try plannedRows()
        var arguments = [column, .literal(.text(style.before)), .literal(.text(style.behind))]
        if let words = style.words {
            arguments += [
                .literal(.text(style.ellipsis)), .literal(.integer(Int64(Swift.max(1, Swift.min(words, 1000))))),
            ]
        }
        let expr = Expr.function(style.words == nil ? "highlight" : "snippet", arguments)
        let texts = try records { () throws(RecordError) in try planned.plan.rows([expr], in: planned.view) }
        let objects = try planned.makeObjects(of: T.self)
        return zip(objects, texts).map { object, row in
            if case .text(let text)? = row.first { (object, text) } else { (object, nil) }
        }
    }
}

extension Database {
    // async: writes
    /// Rebuilds the full-text indexes of an entity from its objects. Needed only where `verify` reports them.
    public func rebuildFullText<T: Entity>(of type: T.Type) throws(MakoError) {
        try allOrNothing { (transaction) throws(MakoError) in
            let table = try transaction.binding(T.entityModel).table
            try transaction.settle()
            try transaction.writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in try table.rebuildText(in: tx) }
            }
        }
    }
}
