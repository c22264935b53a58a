/// An error of a test's own.
package struct Refused: Error, Equatable {
    package init() {}
}
