import MakoRecords

extension EntityModel {
    /// Translates the condition of an index from property names to column names.
    ///
    /// - Throws: `migration`, with the position in the text.
    func columnText(_ condition: String) throws(MakoError) -> String {
        var names: [String: String] = [:]
        for property in columns where property.name != property.column && property.parts.isEmpty {
            names[property.name] = property.column
        }
        do throws(RecordError) {
            return try MakoRecords.Condition.renamingColumns(in: condition, names)
        } catch {
            throw .migration(entity: name, reason: "the condition of an index cannot be used: \(error)")
        }
    }
}
